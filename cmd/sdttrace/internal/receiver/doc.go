// Package receiver writes parts of the configuration of otelcol/usdtreceiver, and knows its bounds.
package receiver
