# Runs a program, and prints the variables NAMES, a JSON object each time that the line AT is
# reached. What is optimised out is null.
import json
import os

gdb.execute("set breakpoint pending off")
gdb.execute("set startup-with-shell off")
gdb.Breakpoint(os.environ["AT"])


def value(name):
    try:
        v = gdb.parse_and_eval(name)
    except gdb.error:
        return "none"
    if v.is_optimized_out:
        return None
    t = v.type.strip_typedefs()
    if t.code == gdb.TYPE_CODE_PTR and t.target().sizeof == 1:
        return v.string()
    if t.code == gdb.TYPE_CODE_FLT:
        return float(v)
    if t.code == gdb.TYPE_CODE_BOOL:
        return bool(v)
    return int(v)


gdb.execute("run > /dev/null")
while gdb.selected_inferior().pid:
    print("AT " + json.dumps({name: value(name) for name in os.environ["NAMES"].split(",")}))
    gdb.execute("continue")
