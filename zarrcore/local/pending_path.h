// PendingPath: the components of a path that must still be resolved. The components of a link's
// target replace the link.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrfs {

/// Maximum number of symbolic links on one path, as in the kernel.
inline constexpr int kMaxSymbolicLinks = 40;

class PendingPath {
 public:
  /// Puts the components of `path` before the pending components. A trailing slash and double
  /// slashes produce empty components.
  void Push(std::string_view path) {
    while (!path.empty()) {
      const size_t slash = path.rfind('/');
      const size_t start = slash == path.npos ? 0 : slash + 1;
      components_.emplace_back(path.substr(start));
      path = path.substr(0, slash == path.npos ? 0 : slash);
    }
  }
  /// Puts a mark before the pending components: a component that no path can contain, such as "/".
  void PushMark(std::string mark) { components_.push_back(std::move(mark)); }

  [[nodiscard]] bool empty() const { return components_.empty(); }
  /// Removes and returns the next component.
  [[nodiscard]] std::string Pop() {
    std::string component = std::move(components_.back());
    components_.pop_back();
    return component;
  }

 private:
  std::vector<std::string> components_;  // in reverse order: the next component is the last element
};

}  // namespace zarrfs
