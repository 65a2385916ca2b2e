// Addresses: builds the HTTP request for a FetchRequest, with address, headers and signature.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "zarrcore/net/fetch_channel.h"
#include "zarrcore/net/http_transfer.h"
#include "zarrcore/net/remote_source.h"
#include "zarrcore/net/sigv4.h"

namespace zarrfs {

class Addresses {
 public:
  /// Reads the files named by the options headers= and query=, unless `source` already has their
  /// contents. `source` must outlive this object.
  explicit Addresses(const RemoteSource& source);

  /// The reason why no request may be sent; "" if requests may be sent. For example, the file of
  /// headers= cannot be read, and without its headers a server would refuse objects that exist.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Builds the HTTP request for `request`; the caller sets HttpGet::range and HttpGet::into.
  /// `key`: the key that signs the request; null for an unsigned request. `now_s`: Unix time in
  /// seconds.
  [[nodiscard]] HttpGet Of(const FetchRequest& request, const AwsKey* key, int64_t now_s) const;

 private:
  [[nodiscard]] std::map<std::string, std::string> ListQuery(const FetchRequest& request) const;
  void AddSignature(const AwsKey& key, int64_t now_s,
                    const std::map<std::string, std::string>& query, HttpGet& get) const;

  const RemoteSource& source_;
  std::vector<std::string> headers_;
  std::string query_;
  std::string problem_;
};

}  // namespace zarrfs
