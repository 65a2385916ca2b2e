#include "zarrcore/store/object_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace zarrfs {

Result<void> ObjectWatch::Start(const Store& container, std::string key, ChangeListener listener,
                                std::function<void(std::string_view)> report) const {
  return container.StartWatching(
      [count = count_, key = std::move(key),
       listener = std::move(listener)](const Changes& changes) {
        const auto has = [](const std::vector<std::string>& all, std::string_view one) {
          return std::ranges::find(all, one) != all.end();
        };
        if (!changes.all && !has(changes.keys, key) && !has(changes.folders, FolderOf(key))) return;
        ++*count;
        listener({.keys = {}, .folders = {}, .all = true});
      },
      std::move(report));
}

}  // namespace zarrfs
