"""The messages of GradBench, as every tool in Python answers them: one line in, one line out."""

import json
import sys
import time


def serve(name, modules, encode):
    """Answers messages until there are no more.

    `modules` has the functions of each module by name. A function takes an input and gives another one, without arguments, which is what is
    timed. `encode` makes a result out of what JSON has.
    """
    for line in sys.stdin:
        message = json.loads(line)
        print(json.dumps({"id": message["id"], **answer(message, name, modules, encode)}), flush=True)


def answer(message, name, modules, encode):
    kind, module = message["kind"], message.get("module")
    if kind == "start":
        return {"tool": name}
    if kind == "define":
        return {"success": True} if module in modules else {"success": False, "error": f"{name} has no `{module}`"}
    if kind == "evaluate":
        try:
            return evaluate(modules[module][message["function"]], message["input"], encode)
        except Exception as error:  # whatever it is, the next message is answered
            return {"success": False, "error": f"{type(error).__name__}: {error}"}
    return {}


def evaluate(function, given, encode):
    run = function(given)
    result = run()  # the first run compiles
    times = []
    while len(times) < given.get("min_runs", 1) or sum(times) < given.get("min_seconds", 0) * 10**9:
        before = time.perf_counter_ns()
        result = run()
        times.append(time.perf_counter_ns() - before)
    timings = [{"name": "evaluate", "nanoseconds": nanoseconds} for nanoseconds in times]
    return {"success": True, "output": encode(result), "timings": timings}
