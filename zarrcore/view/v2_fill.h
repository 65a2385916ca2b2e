// Chooses the "fill_value" of .zarray, and the attribute "_FillValue".
//
// In v3, the fill value is the content of missing chunks, and only the attribute _FillValue says
// which values are masked (CF conventions). Readers of v2 such as xarray mask the fill value of
// .zarray. They must mask exactly the values that a v3 reader masks. So .zarray states the value of
// _FillValue, if the attribute exists; otherwise the v3 fill value, if masking it is harmless;
// otherwise null. Missing chunks become files if a reader would not read them as the v3 fill value.
#pragma once

#include <string>
#include <vector>

#include "zarrcore/metadata/fill_value.h"
#include "zarrcore/metadata/json.h"
#include "zarrcore/view/reader_profile.h"
#include "zarrcore/view/view.h"

namespace zarrfs {

struct V2Fill {
  Json fill_value;                // the value for .zarray
  bool must_make_chunks = false;  // true if missing chunks must be shown as files of fill values
  std::vector<std::string> notes = {};
};

/// Chooses the fill value for a reader. `fill`: the v3 fill value, little-endian. `type`: the type
/// of `fill` and of the elements in the chunk files. `byte_order`: the byte order of the chunk
/// files. `has_named_dimensions`: true if the array has dimension_names, even if some are null, or
/// rank 0, or an undefined fill value. Changes _FillValue in `attributes` to the value that the
/// reader must see, or removes it.
[[nodiscard]] V2Fill ChooseV2Fill(const FillBytes& fill, const DataType& type, char byte_order,
                                  bool has_named_dimensions, const ViewContext& context,
                                  const ReaderProfile& profile, Json& attributes);

}  // namespace zarrfs
