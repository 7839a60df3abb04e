# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/sanitized"
require "open3"
require "rbconfig"

# The C of all extensions for another processor, up to linking: nothing is taken for granted that only x86 has. (The sanitizers'
# tests find accesses that are not aligned, on any processor.) Ruby's headers are those of this machine, which differ in nothing
# that counts here.
class Aarch64Test < Minitest::Test
  COMPILER = Support::Program.new("aarch64-linux-gnu-gcc", apt: "gcc-aarch64-linux-gnu")
  LIBC = { header: "/usr/aarch64-linux-gnu/include/stdio.h", apt: "libc6-dev-arm64-cross" }.freeze
  FLAGS = %w[-std=gnu11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Werror].freeze
  # As extconf.rb finds them on Linux. The headers of OpenSSL are another package for each processor.
  FOUND = %w[PLAIT_EPOLL RB_IO_DESCRIPTOR PREADV2 PWRITEV2 EPOLL_PWAIT2].map { |name| "-DHAVE_#{name}" }.freeze

  def self.runnable_methods = RUBY_ENGINE == "ruby" && RUBY_PLATFORM.match?(/x86_64-linux/) ? super : []

  def hard_timeout = 600

  def test_all_of_it_compiles_without_a_warning
    compiler = COMPILER.path!
    skip("there is no #{LIBC[:header]}: sudo apt-get install -y #{LIBC[:apt]}") unless File.file?(LIBC[:header])
    rubys = RbConfig::CONFIG.values_at("rubyarchhdrdir", "rubyhdrdir").flat_map { |folder| ["-isystem", folder] }
    ours = Sanitized::FOLDERS.map { |folder| "-I#{folder}" }
    sources = Sanitized.files(["*.c"])
    texts = sources.map { |path| File.read(path) }
    Support::MadeOnce.lasting(compiler, *FLAGS, *rubys, Sanitized.headers, *texts) do |made|
      out, status = Open3.capture2e(compiler, *FLAGS, *FOUND, *rubys, *ours, *sources)
      assert_predicate(status, :success?, out)
      File.write(made, "compiled")
    end
  end
end
