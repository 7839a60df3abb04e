# frozen_string_literal: true

require "digest"
require "fileutils"
require "open3"
require "tmpdir"
require_relative "made_once"
require_relative "program"
require_relative "root"

# Compiles C of the tests together with engines of the extension, under ASan and UBSan, and runs it.
module Sanitized
  COMPILER = Support::Program.new("gcc", "clang", "cc", apt: "gcc")
  FLAGS = %w[-std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined
             -fno-sanitize-recover=all -fno-omit-frame-pointer].freeze
  EXTENSIONS = Dir[File.join(Support::ROOT, "plait*/ext/plait*")].freeze
  # Seconds that a test allows the compiler, beside its own: on a busy machine the sanitizers' builds take minutes.
  BUILDING = 480
  # A folder an engine.
  FOLDERS = EXTENSIONS.flat_map { |path| [path, *Dir[File.join(path, "*/")]] }.freeze

  # TLS is in whatever is compiled where its headers are: one set of files serves all tests.
  TLS = File.exist?("/usr/include/openssl/ssl.h") ? %w[-DHAVE_LIBSSL] : []
  TLS_LIBRARIES = TLS.any? ? %w[-Wl,--as-needed -lssl -lcrypto] : []

  module_function

  # @param source [String] path of the file with main
  # @param engines [String, Array<String>] the files of the extensions that begin with one of them are linked
  # @param flags [Array<String>]
  # @param instead [Array<String>] paths of files that stand for those of the same name
  # @yieldparam program [String] its path, while the block runs
  # @raise [Minitest::Skip] without a compiler that can do it
  def build(source, engines, flags: FLAGS, instead: [])
    skip_unless_it_works(flags)
    replaced = instead.to_h { |path| [File.basename(path), path] }
    sources = [source, *files(Array(engines).map { |engine| "#{engine}*.c" })]
    objects = sources.map { |file| object(replaced.fetch(File.basename(file), file), flags) }
    Dir.mktmpdir("plait-test-") do |folder|
      compile([*flags, *objects, "-pthread", *TLS_LIBRARIES], program = File.join(folder, "program"))
      yield program
    end
  end

  # @return [String] path of the compiled file
  def object(file, flags)
    command = [*flags, *TLS, "-c", "-I#{__dir__}", *FOLDERS.map { |path| "-I#{path}" }, "-pthread", file]
    Support::MadeOnce.lasting(*command, File.read(file), tables_beside(file), headers) { |path| compile(command, path) }
  end

  # A file in C may include tables in its own folder.
  def tables_beside(file) = Dir[File.join(File.dirname(file), "*.inc")].map { |path| File.read(path) }.join("\0")

  # @return [String] one for all that may be included, of the extensions and of the tests
  def headers
    @headers ||= begin
      all = Dir[*FOLDERS.map { |path| File.join(path, "*.h") }, File.join(Support::ROOT, "{plait*/,}test/**/*.h")]
      Digest::SHA256.hexdigest(all.sort.map { |path| File.read(path) }.join("\0"))
    end
  end

  # @param patterns [Array<String>] of the names of files
  # @return [Array<String>]
  def files(patterns) = FOLDERS.flat_map { |folder| Dir.glob(patterns, base: folder).map { |name| File.join(folder, name) } }

  # @return [String] what it printed
  # @raise [Minitest::Assertion] when it failed
  def run(*command)
    out, status = Open3.capture2e({ "ASAN_OPTIONS" => "detect_leaks=0" }, *command)
    raise Minitest::Assertion, "#{command.join(" ")} failed (#{status}):\n#{out}" unless status.success?

    out
  end

  def compile(arguments, program)
    out, status = Open3.capture2e(COMPILER.path!, *arguments, "-o", program)
    raise Minitest::Assertion, "does not compile:\n#{out}" unless status.success?
  end

  # A compiler may come without the sanitizers' libraries.
  def skip_unless_it_works(flags)
    return if (@working ||= []).include?(flags)

    @working << flags if works(flags)
  end

  def works(flags)
    Dir.mktmpdir("plait-test-") do |folder|
      File.write(source = File.join(folder, "empty.c"), "int main(void) { return 0; }\n")
      compile([*flags, source], program = File.join(folder, "empty"))
      run(program)
    end
  rescue Minitest::Assertion => e
    raise if e.is_a?(Minitest::Skip)

    raise Minitest::Skip, "#{COMPILER.path} can't use #{flags.grep(/sanitize=/).first}: #{e.message.lines.first(3).join}"
  end
end
