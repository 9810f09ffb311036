# Reads NAME.schedule.json and says whether it is consistent in itself.
import json, sys

schedule = json.load(open(sys.argv[1]))
buffers, statements = schedule["buffers"], schedule["statements"]
assert schedule["version"] == 1 and len(buffers) > 0
for k, a in enumerate(buffers):
    assert a["offset"] % 64 == 0 and a["offset"] + a["bytes"] <= schedule["peak_bytes"]
    assert 0 <= a["lifetime"][0] <= a["lifetime"][1] < len(statements)
    for b in buffers[:k]:
        together = a["lifetime"][0] <= b["lifetime"][1] and b["lifetime"][0] <= a["lifetime"][1]
        overlap = a["offset"] < b["offset"] + b["bytes"] and b["offset"] < a["offset"] + a["bytes"]
        assert not (together and overlap), (a["tensor"], b["tensor"])
assert schedule["lower_bound_bytes"] <= schedule["peak_bytes"]


def leaves(nest):
    for node in nest:
        if "statement" in node:
            yield node["statement"]
        else:
            yield from leaves(node["body"])


assert list(leaves(schedule["nest"])) == list(range(len(statements)))
print(len(buffers), "buffers,", len(statements), "statements,", schedule["peak_bytes"], "bytes")
