// Checks the documents that all views show of a node, for the targets that parse metadata.
#pragma once

#include <variant>

#include "tests/fuzz/fuzzing.h"
#include "zarrcore/array/layout.h"
#include "zarrcore/metadata/metadata.h"
#include "zarrcore/metadata/v2_metadata.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

/// Requires that the documents of a view can be parsed, and that a zarr.json has the same shape.
inline void RequireReadable(const ArrayMetadata& metadata, const ArrayView& shown) {
  if (shown.has_texts) return;  // the documents depend on the strings
  for (const Document& document : shown.documents) {
    if (document.name == "zarr.json") {
      const auto again = ParseZarrJson(document.bytes, "shown zarr.json");
      RequireOk(again, "the zarr.json of a view to be valid");
      const auto* array = std::get_if<ArrayMetadata>(&*again);
      Require(array != nullptr && array->shape == metadata.shape, "the same shape");
    } else if (document.name == ".zarray" && !metadata.is_stored_as_v2()) {
      const auto again = ParseZarray({"shown .zarray", document.bytes}, {});
      RequireOk(again, "the .zarray of a view to be valid");
    }
  }
}

inline void ShowEverywhere(const ArrayMetadata& metadata) {
  const auto layout = MakeArrayLayout(metadata);
  if (!layout) return;
  for (const View* view : AllViews()) {
    const auto shown = view->ShowArray(metadata, *layout, {});
    if (shown) RequireReadable(metadata, *shown);
    (void)view->ShowArray(metadata, *layout,
                          {.forced_separator = '/', .fill = FillPolicy::kMaterialize});
  }
}

inline void ShowEverywhere(const GroupMetadata& metadata) {
  for (const View* view : AllViews()) {
    const auto documents = view->ShowGroup(metadata, {}).documents;
    const NodeBelow nodes[] = {{"", documents}};
    (void)view->Consolidate(nodes);
  }
}

}  // namespace zarrfs
