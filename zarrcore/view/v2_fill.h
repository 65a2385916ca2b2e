// The "fill_value" of .zarray, and the attribute "_FillValue".
//
// In v3 the fill value is the content of missing chunks, and only the attribute says which values
// are masked (CF conventions). Readers of v2 such as xarray mask the fill value of .zarray. They
// must mask exactly what a v3 reader masks. So .zarray has the attribute's value, if there is one;
// else the v3 fill value if masking it is harmless; else null. Missing chunks become files if a
// reader would assume other values than the v3 fill value.
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
  bool must_make_chunks = false;  // for missing chunks
  std::vector<std::string> notes = {};
};

/// `type`: of the elements in the chunk files, including `fill`, little-endian; `byte_order` is
/// that of the files. `has_named_dimensions`: dimension_names exist, some of which may be null, or
/// the array has no dimensions. Changes _FillValue in `attributes` to the value that the reader
/// must see, or removes it.
[[nodiscard]] V2Fill ChooseV2Fill(const FillBytes& fill, const DataType& type, char byte_order,
                                  bool has_named_dimensions, const ViewContext& context,
                                  const ReaderProfile& profile, Json& attributes);

}  // namespace zarrfs
