#include "tools/zarrctl/object_walk.h"

namespace zarrfs::ctl {
namespace {

class ObjectWalk {
 public:
  ObjectWalk(const Store& store, const Node& array, const ObjectVisitor& visitor, size_t max_names)
      : store_(store),
        source_(*array.chunks),
        grid_(source_.layout().outer_grid),
        encoding_(array.array()->key_encoding),
        visitor_(visitor),
        names_left_(max_names) {}

  bool Run() {
    if (grid_.size() == 0) return true;
    if (grid_.rank() == 0) return VisitScalar();
    if (encoding_.separator != '/') return VisitFolder(source_.folder(), grid_.rank() - 1);
    const bool has_c = encoding_.kind == ChunkKeyEncoding::Kind::kDefault;
    return VisitFolder(has_c ? JoinKey(source_.folder(), "c") : source_.folder(), 0);
  }

 private:
  bool VisitScalar() const {
    const std::string key = source_.ObjectKey(OuterIndex{0});
    const auto info = store_.Stat(key);
    if (info) return info->is_folder || visitor_.object(OuterIndex{0});
    return info.error().code == ErrorCode::kNotFound || visitor_.unreadable(key, info.error());
  }

  // `dimension`: the one that names in this folder count, or the last where they count all.
  bool VisitFolder(const std::string& folder, size_t dimension) {
    const auto entries = store_.List(folder);
    if (!entries) {
      return entries.error().code == ErrorCode::kNotFound ||
             visitor_.unreadable(folder, entries.error());
    }
    const bool is_last = dimension + 1 == grid_.rank();
    for (const ListEntry& entry : *entries) {
      if (names_left_ == 0) return false;
      --names_left_;
      const std::string key = JoinKey(folder, entry.name);
      const auto outer = is_last ? source_.ObjectOfKey(key) : std::nullopt;
      if (is_last ? !outer : !ParseCoordinate(entry.name, grid_.counts()[dimension])) continue;
      if (entry.is_refused) {
        const auto info = store_.Stat(key);
        if (!info) {
          if (!visitor_.unreadable(key, info.error())) return false;
          continue;
        }  // else: replaced since it was listed
      }
      if (is_last) {
        if (!entry.is_folder && !visitor_.object(*outer)) return false;
      } else if (entry.is_folder && !VisitFolder(key, dimension + 1)) {
        return false;
      }
    }
    return true;
  }

  const Store& store_;
  const ChunkSource& source_;
  const ChunkGrid& grid_;
  const ChunkKeyEncoding& encoding_;
  const ObjectVisitor& visitor_;
  size_t names_left_;
};

}  // namespace

bool WalkObjects(const Store& store, const Node& array, const ObjectVisitor& visitor,
                 size_t max_names) {
  return ObjectWalk(store, array, visitor, max_names).Run();
}

bool IsDamage(const Error& error) {
  return error.code == ErrorCode::kDamaged || error.code == ErrorCode::kLinkRefused ||
         error.code == ErrorCode::kZarrfsMount;
}

}  // namespace zarrfs::ctl
