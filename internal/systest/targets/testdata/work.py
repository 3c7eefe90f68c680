# Collects garbage and calls functions as each line of the input says, and
# answers with what it has counted.
import gc
import json
import sys

collections = []


def collected(phase, info):
    if phase == "start":
        collections.append(["start", info["generation"]])
    else:
        collections.append(["done", info["collected"] + info["uncollectable"]])


def cycle():
    a, b = [], []
    a.append(b)
    b.append(a)


def called(n):
    return n + 1


def collect():
    for generation in 0, 1, 2:
        for _ in range(10 * generation):
            cycle()
        gc.collect(generation)
    gc.enable()
    keep = [[] for _ in range(20_000)]  # by itself, in all generations
    for _ in range(20_000):
        cycle()
    gc.disable()
    return collections


def call():
    n = 0
    while n < 1000:
        n = called(n)
    return n


gc.disable()
gc.callbacks.append(collected)
print("ready", flush=True)
for line in sys.stdin:
    answer = {"collect": collect, "call": call}[line.strip()]()
    print(json.dumps(answer), flush=True)
