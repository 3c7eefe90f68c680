package usdtgrpc_test

import (
	"log"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/go-usdt/usdt/contrib/grpc"
)

// The calls of servers and clients fire probes.
func ExampleServerHandler() {
	server := grpc.NewServer(grpc.StatsHandler(usdtgrpc.ServerHandler(nil)))
	defer server.Stop()
	conn, err := grpc.NewClient("localhost:50051",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStatsHandler(usdtgrpc.ClientHandler(nil)))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
}
