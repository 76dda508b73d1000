// main() of the programs without one of their own.
#include "program.hpp"

int main(int argc, char** argv) { return sinter::testing::run_tests(argc, argv); }
