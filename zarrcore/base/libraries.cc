#include "zarrcore/base/libraries.h"

namespace zarrfs {

std::string LibrariesText() {
#ifdef ZARRFS_LIBRARIES
  return "\nwith " ZARRFS_LIBRARIES;
#else
  return "";
#endif
}

}  // namespace zarrfs
