#!/usr/bin/env bash
# Proves the rules of src/fuse/index.cpp with z3 (Debian package z3).
set -euo pipefail
cd "$(dirname "$0")"
said=$(z3 index_rules.smt2)
echo "$said"
rules=$(grep -c '^(echo' index_rules.smt2)
proved=$(grep -c '^unsat$' <<<"$said")
echo "$proved of $rules rules proved"
[ "$proved" -eq "$rules" ]
