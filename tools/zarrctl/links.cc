#include "tools/zarrctl/links.h"

#include <unistd.h>

#include <optional>
#include <utility>

namespace zarrfs::ctl {
namespace {

std::optional<LinkPolicy>& Chosen() {
  static std::optional<LinkPolicy> chosen;
  return chosen;
}

}  // namespace

LinkPolicy LinksToFollow() {
  if (Chosen()) return *Chosen();
  return {.kind = geteuid() == 0 ? LinkPolicy::Kind::kInside : LinkPolicy::Kind::kFollow,
          .folders = {}};
}

void SetLinksToFollow(LinkPolicy policy) { Chosen() = std::move(policy); }

}  // namespace zarrfs::ctl
