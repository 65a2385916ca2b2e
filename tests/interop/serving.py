"""What `zarrctl info --json` says that a view does with an array, in one word."""

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
