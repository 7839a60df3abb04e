// An origin of Go's net/http, by HTTP/1.1, by TLS and by HTTP/2: origin FOLDER
// It prints its two ports, and ends with its input.
package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func text() string {
	var lines strings.Builder
	for number := 0; number < 20000; number++ {
		fmt.Fprintf(&lines, "line %d\n", number)
	}
	return lines.String()
}

// What has come of a body is sent back when all of it has come: by HTTP/1.1 Go reads no more once it answers.
func echo(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	response.Write(body)
}

func drops(response http.ResponseWriter, _ *http.Request) {
	for _, letter := range "hello" {
		fmt.Fprint(response, string(letter))
		response.(http.Flusher).Flush()
		time.Sleep(time.Millisecond)
	}
}

func cut(length string) http.HandlerFunc {
	return func(response http.ResponseWriter, _ *http.Request) {
		if length != "" {
			response.Header().Set("Content-Length", length)
		}
		fmt.Fprint(response, "hello")
		response.(http.Flusher).Flush()
		time.Sleep(20 * time.Millisecond)
		panic(http.ErrAbortHandler)
	}
}

func routes() http.Handler {
	lines := text()
	routes := http.NewServeMux()
	routes.HandleFunc("/echo", echo)
	routes.HandleFunc("/drops", drops)
	routes.HandleFunc("/cut", cut("100"))
	routes.HandleFunc("/torn", cut(""))
	routes.HandleFunc("/gzip", func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Content-Encoding", "gzip")
		coded := gzip.NewWriter(response)
		io.WriteString(coded, lines)
		coded.Close()
	})
	routes.HandleFunc("/trailers", func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Trailer", "Digest")
		fmt.Fprint(response, "hello")
		response.Header().Set("Digest", "abc")
	})
	routes.HandleFunc("/hints", func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("Link", "</a>; rel=preload")
		response.WriteHeader(103)
		response.Header().Del("Link")
		fmt.Fprint(response, "hello")
	})
	routes.HandleFunc("/away", func(response http.ResponseWriter, request *http.Request) {
		http.Redirect(response, request, "/echo", http.StatusTemporaryRedirect)
	})
	routes.HandleFunc("/none", func(response http.ResponseWriter, _ *http.Request) {
		response.WriteHeader(http.StatusNoContent)
	})
	routes.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		fmt.Fprintf(response, "%s %s %d.%d", request.Method, request.URL, request.ProtoMajor, request.ProtoMinor)
	})
	return routes
}

func main() {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	secure, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	handler := routes()
	go http.Serve(plain, handler)
	go http.ServeTLS(secure, handler, filepath.Join(os.Args[1], "leaf.pem"), filepath.Join(os.Args[1], "leaf.key"))
	fmt.Println(plain.Addr().(*net.TCPAddr).Port, secure.Addr().(*net.TCPAddr).Port)
	io.Copy(io.Discard, os.Stdin)
}
