// The "fill_value" of .zarray, and the attribute "_FillValue".
//
// In v3 the fill value is what a missing chunk holds, and only the attribute says which values are
// to be masked (CF conventions). Readers of v2 such as xarray mask what .zarray calls the fill
// value. They are to mask what a v3 reader masks, and nothing else. So .zarray has the attribute's
// value, if there is one; else the v3 fill value if masking it is harmless; else null. Chunks that
// are not stored become files wherever a reader would make up something else than the v3 fill
// value.
#pragma once

#include <string>
#include <vector>

#include "zarrcore/metadata/fill_value.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/view/reader_profile.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

struct V2Fill {
  Json fill_value;                // of .zarray
  bool must_make_chunks = false;  // of those that are not stored
  std::vector<std::string> notes = {};
};

/// `type`: of the elements in the chunk files, of which `fill` is one, little-endian; `byte_order`
/// is theirs. `has_named_dimensions`: there are dimension_names, of which some may be null, or no
/// dimensions. Changes _FillValue in `attributes` to what the reader is to see, or removes it.
[[nodiscard]] V2Fill ChooseV2Fill(const FillBytes& fill, const DataType& type, char byte_order,
                                  bool has_named_dimensions, const ViewContext& context,
                                  const ReaderProfile& profile, Json& attributes);

}  // namespace zarrfs
