# frozen_string_literal: true

# What RESP says, for the engine in C, its fuzzer, and the scanner of Ruby.
module RESPSamples
  # Bytes => the commands in them.
  COMMANDS = {
    "*1\r\n$4\r\nPING\r\n" => [%w[PING]],
    "*2\r\n$3\r\nGET\r\n$0\r\n\r\n" => [["GET", ""]],
    "*2\r\n$3\r\nGET\r\n$4\r\n\r\n\0*\r\n" => [%W[GET \r\n\0*]],
    "*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n" => [%w[a], %w[b]],
    "*0\r\n*-1\r\n\r\n  \r\n*1\r\n$1\r\na\r\n" => [%w[a]],
    "*11\r\n#{"$1\r\nx\r\n" * 11}" => [["x"] * 11],
    "PING\r\n" => [%w[PING]],
    "SET  k\t\"a \\x41\\n\\q\\\"\" 'it\\'s \\n'\n" => [["SET", "k", "a A\nq\"", "it's \\n"]],
    "ECHO \"\" ''\r\nECHO a\"b c\"\r\n" => [["ECHO", "", ""], ["ECHO", "ab c"]],
    "GET a\0 \"\r\n" => [%w[GET a]]
  }.transform_keys(&:b).freeze
  # Bytes => the rule they break, and where.
  BROKEN_COMMANDS = {
    "*x\r\n" => [:count, 1], "*\r\n" => [:count, 1], "*01\r\n" => [:count, 2], "*-0\r\n" => [:count, 2], "*1\rx" => [:count, 3],
    "*1234567890123456789\r\n" => [:count, 19], "*1048577\r\n" => [:arguments_limit, 1],
    "*1\r\n:1\r\n" => [:dollar, 4], "*1\r\n$-1\r\n" => [:bulk_length, 5], "*1\r\n$1a\r\n" => [:bulk_length, 6],
    "*1\r\n$03\r\nabc\r\n" => [:bulk_length, 6], "*1\r\n$4294967296\r\n" => [:bulk_limit, 5],
    "*1\r\n$1\r\nab\r\n" => [:bulk_end, 9], "*1\r\n$1\r\na\rb" => [:bulk_end, 10],
    "GET \"a\r\n" => [:quotes, 0], "GET 'a'b\r\n" => [:quotes, 0], "#{"a" * 70_000}\n" => [:line_limit, 65_536],
    "*2\r\n$1\r\na\r\n" => [:truncated, 11], "GET a" => [:truncated, 5], "*" => [:truncated, 1]
  }.transform_keys(&:b).freeze

  # Each is one reply.
  REPLIES = ["+OK\r\n", "-ERR no\r\n", ":-12\r\n", "$-1\r\n", "$0\r\n\r\n", "$3\r\n\r\n\0\r\n", "*-1\r\n", "*0\r\n",
             "*2\r\n$1\r\na\r\n$-1\r\n", "*2\r\n*2\r\n:1\r\n*0\r\n+x\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123\r\n",
             "!5\r\nERR x\r\n", "=5\r\ntxt:x\r\n", "~1\r\n:1\r\n", "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", ">2\r\n+a\r\n+b\r\n",
             "|1\r\n+ttl\r\n:3\r\n*1\r\n|1\r\n+a\r\n+b\r\n$1\r\nx\r\n", "+a\nb\r\n"].map(&:b).freeze
  # Bytes => the rule they break, and where.
  BROKEN_REPLIES = {
    "x\r\n" => [:type, 0], "*1\r\n?" => [:type, 4], "+OK\rx" => [:line_end, 4], "$x\r\n" => [:bulk_length, 1],
    "$\r\n" => [:bulk_length, 1], "$-2\r\n" => [:bulk_length, 3], "%-1\r\n" => [:length, 3], "*1x" => [:length, 2],
    "$1\rx" => [:line_end, 3], "$1\r\nab" => [:bulk_end, 5], "$1\r\na\rb" => [:bulk_end, 6],
    "$536870913\r\n" => [:bulk_limit, 11], "*1073741825\r\n" => [:elements_limit, 12],
    "*2\r\n+a\r\n" => [:truncated, 8], "$" => [:truncated, 1]
  }.transform_keys(&:b).freeze

  # @return [String] a command as clients send it
  def self.command(*words) = words.inject("*#{words.size}\r\n".b) { |all, word| all << "$#{word.bytesize}\r\n#{word}\r\n".b }
end
