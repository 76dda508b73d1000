#include <sinter/dtype.hpp>
