"""What `zarrctl info --json` says that a view does with an array, in one word, and why it does not show it."""

EXACT, CUT, TRANSCODED, NOT_SHOWN = SERVINGS = ["exact", "cut", "transcoded", "not shown"]


def served(view):
    """One of SERVINGS; `view`: nodes[].views[name]."""
    return view["serving"] if view["shown"] else NOT_SHOWN


def why_not_shown(node, view):
    """The reason; "" where the view shows the node. `node`: one of nodes[]; `view`: the name."""
    if "reason" in node:
        return node["reason"]
    said = node["views"][view]
    return "" if said["shown"] else said["reason"]


def figures_of(reader, view, counts, hidden, unknown):
    """A line of the summary: how many arrays the reader read right."""
    right = ", ".join(f"{counts[how]} {how}" for how in SERVINGS if how != NOT_SHOWN)
    return f"  {reader + ' (' + view + ')':<29} {right}; {hidden} not shown, {unknown} not known to the reader"
