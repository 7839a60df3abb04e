# frozen_string_literal: true

require "open3"
require "rbconfig"
require "tmpdir"
require_relative "sanitized"

# The extension with some of its files compiled under ASan and UBSan, for a Ruby that isn't: what it says of the heap and of
# undefined behaviour holds. (Of stacks nothing is said: Ruby's fibers and its collector do with them what ASan doesn't know.)
module SanitizedExtension
  FLAGS = %w[-std=gnu11 -D_GNU_SOURCE -O1 -g -fPIC -fvisibility=hidden -fsanitize=address,undefined
             -fno-sanitize-recover=all -fno-omit-frame-pointer].freeze
  OPTIONS = "detect_leaks=0:detect_stack_use_after_return=0:use_sigaltstack=0"

  module_function

  # @param patterns [Array<String>] of the files of plait-io that are compiled anew; the others are taken as bin/setup left them
  # @yieldparam folder [String] to be first in the load path of {run}, while the block runs
  # @raise [Minitest::Skip] where that can't be done
  def build(*patterns)
    raise Minitest::Skip, "needs GCC on Linux" unless RUBY_PLATFORM.include?("linux") && gcc?
    raise Minitest::Skip, "bin/setup has left no objects" unless File.exist?(File.join(objects, "plait_io.o"))

    Dir.mktmpdir("plait-test-") do |folder|
      Sanitized.skip_unless_it_works(FLAGS)
      link(own_objects(patterns), folder)
      yield folder
    end
  end

  # @param arguments [Array<String>] of ruby
  # @return [String] what it printed
  # @raise [Minitest::Assertion] when it failed
  def run(folder, *arguments)
    environment = { "LD_PRELOAD" => library("libasan.so"), "ASAN_OPTIONS" => OPTIONS }
    out, status = Open3.capture2e(environment, RbConfig.ruby, "-I#{folder}", *Support::FLAGS, *arguments)
    raise Minitest::Assertion, "#{arguments.join(" ")} failed (#{status}):\n#{out[0, 20_000]}" unless status.success?

    out
  end

  def gcc? = `#{RbConfig::CONFIG["CC"]} --version`.match?(/gcc|Free Software Foundation/i)

  def library(name) = `#{RbConfig::CONFIG["CC"]} -print-file-name=#{name}`.chomp

  def objects = File.join(Support::ROOT, "tmp/ext/#{RUBY_VERSION}-#{RUBY_PLATFORM}/plait_io")

  # As bin/setup has found out what there is.
  def defined = File.read(File.join(objects, "Makefile"))[/^CPPFLAGS = .*/].scan(/-DHAVE_\w+/)

  def headers
    [*RbConfig::CONFIG.values_at("rubyarchhdrdir", "rubyhdrdir"), *Sanitized::FOLDERS].map { |folder| "-I#{folder}" }
  end

  # @return [Hash{String => String}] the name that bin/setup gives it => path
  def own_objects(patterns)
    flags = [*FLAGS, "--param=asan-stack=0", *defined, *headers]
    Sanitized.files(patterns).to_h { |file| ["#{File.basename(file, ".*")}.o", Sanitized.object(file, flags)] }
  end

  def link(own, folder)
    others = Dir["#{objects}/*.o"].reject { |file| own.key?(File.basename(file)) }
    Dir.mkdir(File.join(folder, "plait"))
    flags = %w[-shared -fsanitize=address,undefined -lm]
    Sanitized.compile([*flags, *own.values, *others], File.join(folder, "plait/plait_io.so"))
  end
end
