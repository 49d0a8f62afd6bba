/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that includes the OpenCL header. OpenCL 3.0 headers are
 * required to compile; devices from OpenCL 1.2 on are supported. */
#ifndef CROSSLANE_CL_H
#define CROSSLANE_CL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#ifdef __APPLE__
#include <OpenCL/cl.h>
#else
#include <CL/cl.h>
#endif

#if defined(_WIN32) && defined(XL_BUILD)
#define XL_API __declspec(dllexport)
#elif defined(_WIN32) && !defined(XL_STATIC)
#define XL_API __declspec(dllimport)
#elif defined(__GNUC__)
#define XL_API __attribute__((visibility("default")))
#else
#define XL_API
#endif

#endif
