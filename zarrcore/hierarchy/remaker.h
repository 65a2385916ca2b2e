// Remaker: loads and revalidates values that are made from several nodes.
#pragma once

#include <functional>
#include <utility>

#include "zarrcore/base/result.h"
#include "zarrcore/store/revalidating_cache.h"
#include "zarrcore/store/validity.h"

namespace zarrfs {

/// A loader for values made from many nodes. It revalidates a value by making it again.
template <typename Cache>
class Remaker final : public Cache::Loader {
 public:
  using ValuePtr = typename Cache::ValuePtr;
  using Loaded = typename Cache::Loaded;
  /// Makes the value; returns `known` (may be null) if the result would be the same.
  using Make = std::function<Result<Valid<Loaded>>(const ValuePtr& known)>;

  explicit Remaker(Make make) : make_(std::move(make)) {}

  Result<Revalidation> Revalidate(const ValuePtr& known) override {
    known_ = known;
    return Revalidation::kUnknown;
  }
  Result<Loaded> Load() override {
    auto made = make_(known_);
    if (!made) return Fail(made);
    validity_ = made->validity;
    return std::move(made->value);
  }
  Validity ValidityOf(const typename ValuePtr::element_type& /*value*/,
                      Validity /*watched*/) override {
    return validity_;
  }

 private:
  const Make make_;
  ValuePtr known_;
  Validity validity_;
};

}  // namespace zarrfs
