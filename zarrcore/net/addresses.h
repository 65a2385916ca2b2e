// Addresses: address, headers and signature of the HTTP request for a FetchClient's request.
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
  /// Reads the files of headers and of the query, unless `source` already has their contents.
  /// `source` must outlive this object.
  explicit Addresses(const RemoteSource& source);

  /// Why no request may be sent, usually "": a file cannot be read. Without its contents, a server
  /// would refuse objects that exist.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Returns the request without range and `into`. `key`: to sign with, null to not sign. `now_s`:
  /// Unix time.
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
