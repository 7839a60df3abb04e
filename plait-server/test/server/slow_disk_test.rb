# frozen_string_literal: true

require "open3"
require "tmpdir"
require "test_helper"
require "plait/io/native"
require_relative "lone_server"

if Plait.const_get(:Native).available? && Plait.const_defined?(:NativeServer)
  # Others are answered while the disk has somebody wait. It is a library in front of libc's functions that has: until somebody
  # writes a byte into a FIFO.
  class ServerSlowDiskTest < Minitest::Test
    SOURCE = <<~C
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #include <errno.h>
      #include <fcntl.h>
      #include <stdarg.h>
      #include <stdlib.h>
      #include <string.h>
      #include <sys/sendfile.h>
      #include <sys/stat.h>
      #include <sys/syscall.h>
      #include <sys/uio.h>
      #include <sys/vfs.h>
      #include <unistd.h>

      static int slow(const char *what) {
          const char *name = getenv("SLOW_CALL");
          return name && strcmp(name, what) == 0;
      }

      static void wait_for_disk(void) {
          char byte;
          int fifo;
          do fifo = open(getenv("SLOW_FIFO"), O_RDONLY | O_CLOEXEC); while (fifo == -1 && errno == EINTR);
          while (read(fifo, &byte, 1) == -1 && errno == EINTR) {}
          close(fifo);
      }

      /* Only openat2(2) is asked for in that way: what is not in the kernel's memory is not opened. */
      long syscall(long number, ...) {
          long (*next)(long, ...) = dlsym(RTLD_NEXT, "syscall");
          long rest[6];
          va_list list;
          va_start(list, number);
          for (int i = 0; i < 6; i++) rest[i] = va_arg(list, long);
          va_end(list);
      #ifdef SYS_openat2
          if (slow("open") && number == SYS_openat2) {
              errno = EAGAIN;
              return -1;
          }
      #endif
          return next(number, rest[0], rest[1], rest[2], rest[3], rest[4], rest[5]);
      }

      int open(const char *path, int flags, ...) {
          int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
          va_list list;
          va_start(list, flags);
          int mode = va_arg(list, int);
          va_end(list);
          if (slow("open") && strstr(path, "/README.md")) wait_for_disk();
          return next(path, flags, mode);
      }

      int open64(const char *path, int flags, ...) {
          va_list list;
          va_start(list, flags);
          int mode = va_arg(list, int);
          va_end(list);
          return open(path, flags | O_LARGEFILE, mode);
      }

      ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
          ssize_t (*next)(int, int, off_t *, size_t) = dlsym(RTLD_NEXT, "sendfile");
          if (slow("sendfile")) wait_for_disk();
          return next(to, from, offset, count);
      }

      ssize_t sendfile64(int to, int from, off64_t *offset, size_t count) {
          return sendfile(to, from, (off_t *)offset, count);
      }

      /* A file that is not in the page cache. */
      ssize_t preadv2(int from, const struct iovec *parts, int count, off_t offset, int flags) {
          ssize_t (*next)(int, const struct iovec *, int, off_t, int) = dlsym(RTLD_NEXT, "preadv2");
          if (!slow("pread") && !slow("mincore")) return next(from, parts, count, offset, flags);
          errno = slow("pread") ? EAGAIN : EOPNOTSUPP;
          return -1;
      }

      ssize_t preadv64v2(int from, const struct iovec *parts, int count, off64_t offset, int flags) {
          return preadv2(from, parts, count, offset, flags);
      }

      /* Nothing of a mapping is there, where preadv2 knows no answer. */
      int mincore(void *at, size_t size, unsigned char *pages) {
          int (*next)(void *, size_t, unsigned char *) = dlsym(RTLD_NEXT, "mincore");
          if (!slow("mincore")) return next(at, size, pages);
          memset(pages, 0, (size + 4095) / 4096);
          return 0;
      }

      ssize_t pread(int from, void *data, size_t size, off_t offset) {
          ssize_t (*next)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");
          if (slow("pread") || slow("mincore")) wait_for_disk();
          return next(from, data, size, offset);
      }

      ssize_t pread64(int from, void *data, size_t size, off64_t offset) { return pread(from, data, size, offset); }

      /* Whatever the folder for temporary files is on: a disk. */
      int statfs(const char *path, struct statfs *system) {
          int (*next)(const char *, struct statfs *) = dlsym(RTLD_NEXT, "statfs");
          int result = next(path, system);
          if (slow("write")) system->f_type = 0xef53;
          return result;
      }

      int statfs64(const char *path, struct statfs64 *system) { return statfs(path, (struct statfs *)system); }

      ssize_t write(int to, const void *data, size_t size) {
          ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
          struct stat file;
          if (slow("write") && size >= 4096 && fstat(to, &file) == 0 && S_ISREG(file.st_mode)) wait_for_disk();
          return next(to, data, size);
      }
    C

    GET = "GET /file HTTP/1.1\r\nHost: a\r\n\r\n"
    POST = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n#{"x" * 200_000}".freeze

    def test_a_file_that_is_sent_on_threads = assert_others_go_on(:threads, "sendfile", GET, /class Server/)

    def test_a_file_that_is_sent_on_fibers = assert_others_go_on(:fibers, "pread", GET, /class Server/)

    def test_a_file_of_a_file_system_that_says_nothing_of_its_cache
      assert_others_go_on(:fibers, "mincore", GET, /class Server/)
    end

    %i[fibers hybrid].each do |mechanism|
      define_method(:"test_a_file_that_is_opened_on_#{mechanism}") do
        assert_others_go_on(mechanism, "open", GET.sub("/file", "/path"), /Plait/)
      end
    end

    def test_what_is_there_is_known_to_be_there
      File.open(__FILE__) do |file|
        file.read
        assert(Plait.const_get(:NativeServer).present?(file.fileno, 0, file.size))
      end
    end

    %i[threads fibers hybrid].each do |mechanism|
      define_method(:"test_a_body_of_a_request_that_is_kept_in_a_file_on_#{mechanism}") do
        assert_others_go_on(mechanism, "write", POST, /\Ax+\z/)
      end
    end

    private

    def assert_others_go_on(mechanism, call, request, body)
      Dir.mktmpdir do |folder|
        File.mkfifo(fifo = File.join(folder, "fifo"))
        env = { "LD_PRELOAD" => library(folder), "SLOW_CALL" => call, "SLOW_FIFO" => fifo }
        LoneServer.run(mechanism, env: env, spool: 4096, limit: 4) do |server|
          waiting = server.connect.send(request)
          writer = wait_until { open_for_writing(fifo) }
          others = Array.new(3) { server.connect }
          others.each { |caller| assert_equal(200, caller.get("/call").status) }
          writer.syswrite("x" * 1_000) # one for each call
          assert_match(body, waiting.hear.body)
          [waiting, *others, writer].each(&:close)
        end
      end
    end

    # @return [IO, nil] nil as long as nobody waits at the other end
    def open_for_writing(fifo)
      File.open(fifo, File::WRONLY | File::NONBLOCK)
    rescue Errno::ENXIO
      nil
    end

    def library(folder)
      path = File.join(folder, "slow_disk.so")
      compiler = RbConfig::CONFIG["CC"]
      _, err, status = Open3.capture3("#{compiler} -shared -fPIC -x c -o #{path} - -ldl", stdin_data: SOURCE)
      skip("#{compiler} can't make a library to preload: #{err}") unless status.success?
      path
    end
  end
end
