// Calls a server by net/rpc with ugorji's MessagePack-RPC codec, and tells in JSON what it got.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"reflect"
	"strings"

	"github.com/ugorji/go/codec"
)

type args = codec.MsgpackSpecRpcMultiArgs

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	connection, err := net.Dial("tcp", net.JoinHostPort(os.Args[1], os.Args[2]))
	check(err)
	handle := &codec.MsgpackHandle{}
	handle.RawToString = true
	handle.WriteExt = true
	handle.MapType = reflect.TypeOf(map[string]interface{}(nil))
	client := rpc.NewClientWithCodec(codec.MsgpackSpecRpc.ClientCodec(connection, handle))

	var sum int
	check(client.Call("add", args{1, 2}, &sum))
	var values []interface{}
	check(json.Unmarshal([]byte(os.Args[3]), &values))
	echo := make([]interface{}, len(values))
	for i, value := range values {
		check(client.Call("echo", args{value}, &echo[i]))
	}
	var large string
	check(client.Call("echo", args{strings.Repeat("x", 1000000)}, &large))

	many := make([]int, 200)
	calls := make([]*rpc.Call, len(many))
	for i := range many {
		calls[i] = client.Go("add", args{i, 1}, &many[i], nil)
	}
	for _, call := range calls {
		check((<-call.Done).Error)
	}
	failure := client.Call("break_down", args{}, &large)
	check(json.NewEncoder(os.Stdout).Encode(map[string]interface{}{
		"sum": sum, "echo": echo, "large": len(large), "many": many, "error": fmt.Sprint(failure),
	}))
}
