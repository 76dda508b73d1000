// Everything of sinter that a program needs. What other libraries need is apart: sinter/eigen.hpp, sinter/fmt.hpp.
#pragma once
#include "sinter/dtype.hpp"
#include "sinter/engine.hpp"
#include "sinter/errors.hpp"
#include "sinter/linalg.hpp"
#include "sinter/npy.hpp"
#include "sinter/ops.hpp"
#include "sinter/print.hpp"
#include "sinter/random.hpp"
#include "sinter/safetensors.hpp"
#include "sinter/shapes.hpp"
#include "sinter/statistics.hpp"
#include "sinter/tensor.hpp"
