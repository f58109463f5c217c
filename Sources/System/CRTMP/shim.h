// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <librtmp/amf.h>
#include <librtmp/log.h>
#include <librtmp/rtmp.h>
