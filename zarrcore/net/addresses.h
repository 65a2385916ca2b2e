// Addresses: what is sent for a request of a FetchClient: address, headers and signature.
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
  /// Reads the files of headers and of the query, unless `source` has what is in them. `source`
  /// outlives this.
  explicit Addresses(const RemoteSource& source);

  /// Why nothing may be asked for; "" as a rule: a file cannot be read. (Without what is in it, a
  /// server would refuse what exists.)
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Without range and `into`. `key`: to sign with, null to sign nothing. `now_s`: Unix time.
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
