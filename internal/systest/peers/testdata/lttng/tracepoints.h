// The tracepoints of main.c. The header is read several times, as lttng/tracepoint.h
// has it.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER peers
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./tracepoints.h"

#if !defined(TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TRACEPOINTS_H
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(peers, integers,
	LTTNG_UST_TP_ARGS(long, a, long, b, long, c),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(long, a, a) lttng_ust_field_integer(long, b, b) lttng_ust_field_integer(long, c, c)))

LTTNG_UST_TRACEPOINT_EVENT(peers, text,
	LTTNG_UST_TP_ARGS(long, a, const char *, b, long, c),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(long, a, a) lttng_ust_field_string(b, b) lttng_ust_field_integer(long, c, c)))
#endif

#include <lttng/tracepoint-event.h>
