// A gRPC stream of frames as a FrameChannel: the pieces, without their envelope.
#pragma once

#include <string>
#include <type_traits>

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include "join.pb.h"
#include "lib/transport/exchange.h"

namespace rocksieve::join {

using ServerStream = grpc::ServerReaderWriter<v1::Frame, v1::Frame>;
using ClientStream = grpc::ClientReaderWriter<v1::Frame, v1::Frame>;

// Stream: ServerStream or ClientStream.
template <typename Stream, typename Context>
class GrpcChannel final : public FrameChannel {
 public:
  GrpcChannel(Stream* stream, Context* context) : stream_(stream), context_(context) {}

  bool Read(std::string* piece) override {
    v1::Frame frame;
    if (!stream_->Read(&frame)) return false;
    piece->swap(*frame.mutable_piece());
    return true;
  }
  bool Write(const std::string& piece) override {
    v1::Frame frame;
    frame.set_piece(piece);
    return stream_->Write(frame);
  }
  void CloseWriting() override {
    if constexpr (std::is_same_v<Stream, ClientStream>) stream_->WritesDone();
  }
  void Cancel() override { context_->TryCancel(); }

 private:
  Stream* const stream_;
  Context* const context_;
};

}  // namespace rocksieve::join
