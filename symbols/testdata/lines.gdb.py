# Prints where gdb sets breakpoints for the lines FILE:1 to FILE:LAST of a program: for each
# the line's number, and addresses with the lines that gdb has for them.
import os

gdb.execute("set breakpoint pending off")
file, last = os.environ["FILE"], int(os.environ["LAST"])
for line in range(1, last + 1):
    try:
        b = gdb.Breakpoint("%s:%d" % (file, line))
    except gdb.error:
        continue
    print("at", line, *("%d:%d" % (l.address, l.source[1] if l.source else 0) for l in b.locations))
    b.delete()
