"""What `zarrctl info --json` says that a view does with an array, in one word, and why it does not show it."""

EXACT, CUT, TRANSCODED, NOT_SHOWN = SERVINGS = ["exact", "cut", "transcoded", "not shown"]


def served(view):
    """One of SERVINGS; `view`: nodes[].views[name]."""
    if not view["shown"]:
        return NOT_SHOWN
    if "serving" in view:
        return view["serving"]
    if view["decoded"]:
        return TRANSCODED
    return CUT if view["cut_front"] or view["cut_back"] else EXACT


def why_not_shown(node, view):
    """The reason; "" where the view shows the node. `node`: one of nodes[]; `view`: the name."""
    if "reason" in node:
        return node["reason"]
    said = node["views"][view]
    return "" if said["shown"] else said["reason"]
