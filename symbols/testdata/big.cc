// Code that many templates make much of, for measurements.
#include <regex>
#include <map>
#include <string>
#include <vector>
#include <unordered_map>
#include <functional>
#include <iostream>
#include <sstream>
#include <algorithm>
#include <thread>
#include <future>
int entry(const char *s) {
  std::regex r("(a+)(b|c)*"); std::smatch m; std::string t(s);
  std::map<std::string,std::vector<int>> x; std::unordered_map<int,std::string> y;
  for (std::sregex_iterator i(t.begin(), t.end(), r), e; i != e; ++i) { x[i->str()].push_back(i->position()); y[i->length()] = i->str(); }
  auto f = std::async([&]{ return std::regex_replace(t, r, "$1"); });
  std::stringstream o; for (auto &p : x) { std::sort(p.second.begin(), p.second.end()); o << p.first << p.second.size(); }
  std::function<int(int)> g = [&](int n){ return n ? g(n-1) + (int)f.get().size() : (int)o.str().size(); };
  return g(3) + y.size();
}
