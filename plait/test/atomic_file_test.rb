# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "plait/atomic_file"
require "tmpdir"

class AtomicFileTest < Minitest::Test
  AtomicFile = Plait.const_get(:AtomicFile)
  WriteError = Plait::WriteError

  def setup = @folder = Dir.mktmpdir("plait-test-")

  def teardown = FileUtils.rm_rf(@folder)

  def test_the_file_is_replaced_whole
    2.times { |time| AtomicFile.write(path("r.json"), "content #{time}") }
    assert_equal(["r.json"], Dir.children(@folder))
    assert_equal("content 1", File.read(path("r.json")))
  end

  def test_a_link_stays_a_link
    File.symlink(path("real"), path("link"))
    File.write(path("real"), "old")
    AtomicFile.write(path("link"), "new")
    assert_equal(["new", true], [File.read(path("real")), File.symlink?(path("link"))])
  end

  def test_what_is_wrong_and_where
    File.write(path("file"), "")
    { path("missing/r.json") => /the folder does not exist; create it/,
      path("file/r.json") => /is a file and no folder/,
      @folder => /that is a folder; add the name/ }.each do |target, sentence|
      error = assert_raises(WriteError) { AtomicFile.write(target, "x") }
      assert_match(sentence, error.message)
      assert_includes(error.message, target)
      assert_equal(target, error.path)
    end
  end

  def test_what_can_be_known_before
    File.write(path("file"), "")
    { path("missing/r.json") => /the folder does not exist; create it/, path("file/r.json") => /is a file and no folder/,
      @folder => /that is a folder; add the name/ }.each do |target, sentence|
      assert_match(sentence, assert_raises(WriteError) { AtomicFile.check(target) }.message)
    end
    [path("new"), path("file"), File::NULL].each { |target| assert_nil(AtomicFile.check(target)) }
    assert_equal(["file"], Dir.children(@folder))
  end

  def test_a_device_is_written_to_and_a_full_one_says_so
    skip("no /dev/full here") unless File.exist?("/dev/full")
    AtomicFile.write(File::NULL, "x")
    error = assert_raises(WriteError) { AtomicFile.write("/dev/full", "x") }
    assert_match(/the disk is full; free some space/, error.message)
    assert(File.chardev?("/dev/full"))
  end

  # RLIMIT_FSIZE is a disk that is full after some bytes.
  def test_a_write_that_breaks_off_leaves_the_old_file_and_no_part
    File.write(path("r.json"), "old")
    said = Support::FreshRuby.run(<<~RUBY, path("r.json"))
      require "plait/atomic_file"
      trap("XFSZ", "IGNORE")
      Process.setrlimit(:FSIZE, 100_000)
      begin
        Plait.const_get(:AtomicFile).write(ARGV[0], "x" * 1_000_000)
      rescue Plait::WriteError => e
        puts e.message
      end
    RUBY
    assert_match(/can't write to .*r\.json: the file is larger than this process may/, said.out, said.err)
    assert_equal([["r.json"], "old"], [Dir.children(@folder), File.read(path("r.json"))])
  end

  def test_no_permission
    skip("root may write everywhere") if Process.uid.zero?
    File.chmod(0o500, @folder)
    assert_match(/no permission to write there/, assert_raises(WriteError) { AtomicFile.write(path("r"), "x") }.message)
  ensure
    File.chmod(0o700, @folder)
  end

  private

  def path(name) = File.join(@folder, name)
end
