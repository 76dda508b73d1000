// sinter completion: a script that completes the command's arguments in a shell. Commands, options and their values come from the command line's own
// description, functions from the table.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "sinter/errors.hpp"
#include "table/functions.hpp"

namespace sinter::tools {
namespace {

struct Choice {
  std::vector<std::string> names;  // -f, --file
  std::string text;
  bool takes_value = false, takes_file = false;
  std::vector<std::string> values;  // if there are few values
};
struct Command {
  std::string name, text;
  std::vector<Choice> choices;
  std::vector<std::string> commands;  // subcommands, as in "cache stats"
  bool takes_expression = false;
};

/// Returns the values of an option. "{llvm,interpreter}" and "cpu|cuda" list them; FILE, OUT.npy and DIR are paths.
std::vector<std::string> values_in(const std::string& type) {
  const std::size_t open = type.find('{');
  const std::string list = open == std::string::npos ? type : type.substr(open + 1, type.find('}') - open - 1);
  const char separator = open == std::string::npos ? '|' : ',';
  std::vector<std::string> values;
  if (open == std::string::npos && list.find('|') == std::string::npos) return values;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(separator, begin), list.size());
    if (const std::string value = list.substr(begin, end - begin); value.find('N') == std::string::npos) values.push_back(value);
    begin = end + 1;
  }
  return values;
}

Choice choice_of(const CLI::Option& option) {
  Choice choice;
  choice.text = option.get_description();
  for (const std::string& name : option.get_snames()) choice.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) choice.names.push_back("--" + name);
  const std::string type = option.get_type_name();
  choice.takes_value = option.get_expected_max() > 0 && option.get_type_size() > 0;
  choice.values = values_in(type);
  choice.takes_file = type.starts_with("FILE") || type.starts_with("OUT") || type.starts_with("DIR");
  return choice;
}

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    Command command;
    command.name = sub->get_name();
    command.text = sub->get_description();
    for (const CLI::Option* option : sub->get_options())
      if (option->nonpositional()) command.choices.push_back(choice_of(*option));
    for (const CLI::App* inner : sub->get_subcommands([](const CLI::App*) { return true; })) command.commands.push_back(inner->get_name());
    if (const CLI::Option* expression = sub->get_option_no_throw("EXPR")) command.takes_expression = expression->get_positional();
    commands.push_back(std::move(command));
  }
  return commands;
}

std::string all_functions() {
  std::string text;
  for (const Function& function : functions()) text += fmt::format("{}{}", text.empty() ? "" : " ", function.name);
  return text;
}

std::string bash(const std::vector<Command>& commands) {
  std::string names, cases, values;
  for (const Command& command : commands) {
    names += command.name + " ";
    std::string options;
    for (const Choice& choice : command.choices) {
      options += fmt::format("{} ", fmt::join(choice.names, " "));
      if (!choice.takes_value) continue;
      if (!choice.values.empty())
        values += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n", fmt::join(choice.names, "|"), fmt::join(choice.values, " "));
      else if (choice.takes_file) values += fmt::format("    {}) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", fmt::join(choice.names, "|"));
      else values += fmt::format("    {}) return ;;\n", fmt::join(choice.names, "|"));
    }
    cases += fmt::format("    {}) options='{}' words='{}' expression={} ;;\n", command.name, options,
                         command.name == "help" ? all_functions() : fmt::format("{}", fmt::join(command.commands, " ")), command.takes_expression ? "yes" : "");
  }
  return fmt::format(R"(# sinter in bash: source <(sinter completion bash)
_sinter() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} options= words= expression=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '{0}--help --version' -- "$cur"))
    return
  fi
  case $prev in
{2}  esac
  case ${{COMP_WORDS[1]}} in
{1}  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ $prev == = || $cur == = ]]; then  # NAME=FILE
    COMPREPLY=($(compgen -f -- "${{cur#=}}"))
  elif [[ -n $expression && $cur == @* ]]; then  # a file of statements
    COMPREPLY=($(compgen -f -P @ -- "${{cur#@}}"))
  elif [[ -n $expression ]]; then  # the last name of an expression may be the begin of a function's
    local text=${{cur#[\'\"]}}
    local name=${{text##*[!A-Za-z0-9_]}}
    if [[ -n $name ]]; then
      COMPREPLY=($(compgen -W '{3}' -P "${{text%"$name"}}" -S '(' -- "$name"))
      compopt -o nospace 2>/dev/null || :  # elsewhere than in completion it fails
    fi
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}}
complete -F _sinter sinter
)",
                     names, cases, values, all_functions());
}

std::string quoted(const std::string& text) {  // Quotes the text for use within '...'.
  std::string result;
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result;
}
std::string zsh_text(const std::string& text) {  // Quotes the text for use within [...] of a specification.
  std::string result;
  for (const char c : quoted(text)) result += c == '[' || c == ']' || c == ':' ? std::string{'\\', c} : std::string(1, c);
  return result;
}

std::string zsh(const std::vector<Command>& commands) {
  std::string names, cases;
  for (const Command& command : commands) {
    names += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.text));
    std::string specifications;
    for (const Choice& choice : command.choices) {
      const std::string value = !choice.takes_value      ? ""
                                : !choice.values.empty() ? fmt::format(":value:({})", fmt::join(choice.values, " "))
                                : choice.takes_file      ? ":file:_files"
                                                         : ":value:";
      for (const std::string& name : choice.names)
        specifications += fmt::format(" \\\n        '({}){}[{}]{}'", fmt::join(choice.names, " "), name, zsh_text(choice.text), value);
    }
    const std::string rest = command.takes_expression    ? "*:expression or NAME=FILE:_sinter_word"
                             : command.name == "help"    ? fmt::format("1:function:({})", all_functions())
                             : !command.commands.empty() ? fmt::format("1:command:({})", fmt::join(command.commands, " "))
                                                         : "";
    if (!rest.empty()) specifications += fmt::format(" \\\n        '{}'", rest);
    cases += fmt::format("    {}) _arguments{} ;;\n", command.name, specifications);
  }
  return fmt::format(R"(#compdef sinter
# sinter in zsh: source <(sinter completion zsh), or this text as _sinter in a folder of $fpath
_sinter_word() {{
  if compset -P '*='; then
    _files
  elif compset -P '@'; then
    _files
  else
    compset -P '*[^A-Za-z0-9_]'
    local -a functions_of_sinter=({2})
    compadd -S '(' -- $functions_of_sinter
  fi
}}
_sinter() {{
  local -a commands=(
{0}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{1}  esac
}}
(( $+functions[compdef] )) || {{ autoload -U compinit && compinit }}
compdef _sinter sinter
)",
                     names, cases, all_functions());
}

std::string fish(const std::vector<Command>& commands) {
  std::string text = "# sinter in fish: sinter completion fish | source\n";
  for (const Command& command : commands) {
    text += fmt::format("complete -c sinter -f -n __fish_use_subcommand -a {} -d '{}'\n", command.name, quoted(command.text));
    const std::string within = fmt::format("complete -c sinter -n '__fish_seen_subcommand_from {}'", command.name);
    for (const Choice& choice : command.choices) {
      text += within;
      for (const std::string& name : choice.names) text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (choice.takes_value) text += choice.takes_file ? " -r" : " -x";
      if (!choice.values.empty()) text += fmt::format(" -a '{}'", fmt::join(choice.values, " "));
      text += fmt::format(" -d '{}'\n", quoted(choice.text));
    }
    if (!command.commands.empty()) text += fmt::format("{} -f -a '{}'\n", within, fmt::join(command.commands, " "));
    if (command.name == "help") text += fmt::format("{} -f -a '{}'\n", within, all_functions());
    if (command.takes_expression) text += fmt::format("{} -a '(__sinter_functions)'\n", within);
  }
  // A completion includes the text before the last name of the expression.
  return text + fmt::format(R"(function __sinter_functions
    set -l word (commandline -ct | string trim -l -c "'\"")
    set -l name (string match -r '[A-Za-z0-9_]*$' -- $word)
    test -n "$name"; or return
    set -l before (string sub -l (math (string length -- $word) - (string length -- $name)) -- $word)
    for function in {}
        string match -q -- "$name*" $function; and echo "$before$function("
    end
end
)",
                            all_functions());
}

}  // namespace

std::string completion(const CLI::App& app, std::string_view shell) {
  const std::vector<Command> commands = commands_of(app);
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  throw ValueError(fmt::format("no completion for '{}'; there is one for bash, zsh and fish", shell));
}

}  // namespace sinter::tools
