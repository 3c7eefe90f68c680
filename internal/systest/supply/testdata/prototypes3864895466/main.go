package main

import (
	"context"

	"github.com/go-usdt/usdt/attach"
	"github.com/go-usdt/usdt/prototype"
)

var _ *prototype.Table

func main() { attach.Open(context.Background(), []string{"x:y"}, &attach.Options{}) }
