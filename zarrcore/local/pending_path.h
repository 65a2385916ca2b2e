// PendingPath: the components of a path that are still to be resolved, as targets of symbolic links
// take the place of the links.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrfs {

/// Symbolic links that are followed on one path, as many as the kernel follows.
inline constexpr int kMaxSymbolicLinks = 40;

class PendingPath {
 public:
  /// Puts the components of `path` before those that are pending. A slash at the end and double
  /// slashes give empty components.
  void Push(std::string_view path) {
    while (!path.empty()) {
      const size_t slash = path.rfind('/');
      const size_t start = slash == path.npos ? 0 : slash + 1;
      components_.emplace_back(path.substr(start));
      path = path.substr(0, slash == path.npos ? 0 : slash);
    }
  }
  /// A component of its own, which may be one that no path has: "/".
  void PushMark(std::string mark) { components_.push_back(std::move(mark)); }

  [[nodiscard]] bool empty() const { return components_.empty(); }
  /// Takes the next component. Must not be empty.
  [[nodiscard]] std::string Pop() {
    std::string component = std::move(components_.back());
    components_.pop_back();
    return component;
  }

 private:
  std::vector<std::string> components_;  // the next one comes last
};

}  // namespace zarrfs
