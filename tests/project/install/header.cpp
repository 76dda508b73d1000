#include <sinter/sinter.hpp>
