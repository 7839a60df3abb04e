# frozen_string_literal: true

require "securerandom"
require_relative "values"

module Plait
  # Writes a file whole or not at all: into a file beside it, which then takes its name.
  module AtomicFile
    HINTS = {
      Errno::ENOSPC => "the disk is full; free some space, or name a path on another disk",
      Errno::EDQUOT => "the disk quota is used up; free some space, or name a path on another disk",
      Errno::EFBIG => "the file is larger than this process may write; raise `ulimit -f`",
      Errno::EACCES => "no permission to write there; name a path in a folder of yours",
      Errno::EPERM => "no permission to write there; name a path in a folder of yours",
      Errno::EROFS => "that disk is read-only; name a path elsewhere",
      Errno::ENOENT => "the folder does not exist; create it, or name another path",
      Errno::ENOTDIR => "a part of the path is a file and no folder; name another path",
      Errno::EISDIR => "that is a folder; add the name of a file"
    }.freeze

    module_function

    # @param path [String] a symbolic link is followed; a device or a pipe is written to as it is
    # @raise [WriteError] says where and why; the file is as it was before
    def write(path, content)
      raise Errno::EISDIR if File.directory?(path)

      special?(path) ? File.binwrite(path, content) : replace(target(path), content)
    rescue SystemCallError => e
      raise refusal(path, e)
    end

    # Looks whether a file can come to be there, before there is anything to write.
    # @raise [WriteError]
    def check(path)
      raise Errno::EISDIR if File.directory?(path)

      check_folder(File.dirname(target(path))) unless special?(path)
    rescue SystemCallError => e
      raise refusal(path, e)
    end

    def refusal(path, error) = WriteError.new("can't write to #{path}: #{HINTS.fetch(error.class) { error.message }}", path: path)

    def check_folder(path)
      raise Errno::ENOTDIR unless File.stat(path).directory?
      raise Errno::EACCES unless File.writable?(path)
    end

    def replace(path, content)
      beside = "#{path}.#{Process.pid}.#{SecureRandom.hex(4)}.part"
      File.open(beside, File::WRONLY | File::CREAT | File::EXCL | File::BINARY) do |file|
        file.write(content)
        file.fsync
      end
      File.rename(beside, path)
    ensure
      File.unlink(beside) if beside && File.exist?(beside)
    end

    def special?(path) = File.exist?(path) && !File.file?(path)

    def target(path) = File.symlink?(path) && File.exist?(path) ? File.realpath(path) : path
  end
  private_constant :AtomicFile
end
