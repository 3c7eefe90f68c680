# Collects garbage as many calls deep as each line of the input says.
import gc
import sys


def innermost():
    gc.collect()


def deeper(n):
    if n > 0:
        deeper(n - 1)
    else:
        innermost()


gc.disable()
print("ready", flush=True)
for line in sys.stdin:
    deeper(int(line))
    print("done", flush=True)
