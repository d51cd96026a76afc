/* SPDX-License-Identifier: MIT */
/* Everything public, in one include. */
#ifndef POWER_POWER_H
#define POWER_POWER_H

#include "power/answer.h"
#include "power/constraint.h"
#include "power/graph.h"
#include "power/model.h"
#include "power/runtime.h"
#include "power/session.h"
#include "power/status.h"

#endif
