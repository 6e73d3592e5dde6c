/* SPDX-License-Identifier: Apache-2.0 */
/* All of libstoker's public interface. */
#ifndef STOKER_STOKER_H
#define STOKER_STOKER_H

#include "stoker/augment.h"
#include "stoker/batch.h"
#include "stoker/dataset.h"
#include "stoker/loader.h"
#include "stoker/monitor.h"
#include "stoker/options.h"
#include "stoker/predict.h"
#include "stoker/runtime.h"
#include "stoker/status.h"
#include "stoker/train.h"
#include "stoker/version.h"

#endif
