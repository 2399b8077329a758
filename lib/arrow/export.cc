// SPDX-License-Identifier: Apache-2.0
#include "lib/arrow/export.h"

#include <utility>

namespace rocksieve::arrow {
namespace {

// What a consumer's struct points to. Children that he has moved elsewhere are no longer here.
template <typename Struct>
struct Node {
  ~Node() {
    for (Struct& child : children) {
      if (child.release != nullptr) child.release(&child);
    }
  }
  static void Release(Struct* of) {
    of->release = nullptr;
    delete static_cast<Node*>(of->private_data);
  }
  // Makes room for so many, which stay where they are.
  void MakeChildren(size_t count) {
    children.resize(count);
    for (Struct& child : children) pointers.push_back(&child);
  }
  // The last step, which cannot fail.
  static void Give(std::unique_ptr<Node> node, Struct* out) {
    out->n_children = static_cast<int64_t>(node->children.size());
    out->children = node->pointers.data();
    out->dictionary = nullptr;
    out->release = Release;
    out->private_data = node.release();
  }

  std::vector<Struct> children;
  std::vector<Struct*> pointers;
  std::string format, name;              // of a schema
  std::vector<const void*> buffers;      // of an array
  std::shared_ptr<const void> owner;     // likewise
};

}  // namespace

void Export(const Field& field, ArrowSchema* out) {
  auto node = std::make_unique<Node<ArrowSchema>>();
  node->format = field.format;
  node->name = field.name;
  node->MakeChildren(field.children.size());
  for (size_t i = 0; i < field.children.size(); i++) Export(field.children[i], node->pointers[i]);
  *out = {};
  out->format = node->format.c_str();
  out->name = node->name.c_str();
  out->flags = field.nullable ? ARROW_FLAG_NULLABLE : 0;
  Node<ArrowSchema>::Give(std::move(node), out);
}

void Export(const Column& column, const std::shared_ptr<const void>& owner, ArrowArray* out) {
  auto node = std::make_unique<Node<ArrowArray>>();
  node->buffers = column.buffers;
  node->owner = owner;
  node->MakeChildren(column.children.size());
  for (size_t i = 0; i < column.children.size(); i++) {
    Export(column.children[i], owner, node->pointers[i]);
  }
  *out = {};
  out->length = column.length;
  out->null_count = column.null_count;
  out->n_buffers = static_cast<int64_t>(node->buffers.size());
  out->buffers = node->buffers.data();
  Node<ArrowArray>::Give(std::move(node), out);
}

}  // namespace rocksieve::arrow
