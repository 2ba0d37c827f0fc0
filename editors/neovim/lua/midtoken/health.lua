-- `:checkhealth midtoken`

local M = {}

local function check_neovim()
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.11') == 0 then
    return vim.health.error('Neovim ' .. version .. ' is too old', 'install Neovim 0.11 or later')
  end
  vim.health.ok('Neovim ' .. version)
  if require('midtoken.ghost').is_there then
    vim.health.ok('ghost text: vim.lsp.inline_completion is there')
  else
    vim.health.info('no ghost text: that needs Neovim 0.12; suggestions come in the completion menu')
  end
end

local function check_command()
  local server = require('midtoken.server')
  local command = server.command()
  if command == nil then
    return vim.health.info('the server is reached over a connection (`cmd` is a function)')
  end
  if vim.fn.executable(command[1]) == 0 then
    return vim.health.error(
      command[1] .. ' is not on the PATH',
      "install midtoken, or set its path with vim.lsp.config('midtoken', { cmd = { … } })"
    )
  end
  local done = vim.system({ command[1], '--version' }, { text = true, timeout = 10000 }):wait()
  if done.code ~= 0 then
    return vim.health.error(command[1] .. ' does not run: ' .. vim.trim(done.stderr or ''))
  end
  vim.health.ok(vim.trim(done.stdout) .. ': ' .. vim.fn.exepath(command[1]))
end

local function check_server()
  if not vim.lsp.is_enabled('midtoken') then
    return vim.health.warn('midtoken is not enabled', "add vim.lsp.enable('midtoken') to init.lua")
  end
  local clients = require('midtoken.server').clients()
  if #clients == 0 then
    vim.health.info('no server runs now; one starts when a file is opened')
  end
  for _, client in ipairs(clients) do
    vim.health.ok(
      ('server %d runs for %d buffers, positions in %s'):format(
        client.id,
        vim.tbl_count(client.attached_buffers),
        client.offset_encoding
      )
    )
  end
  local status = require('midtoken.status').current
  local say = status.state == 'error' and vim.health.error or vim.health.info
  say(('%s: %s'):format(status.state, status.message))
end

local function check_neighbours()
  for _, name in ipairs({ 'cmp', 'blink.cmp' }) do
    if package.loaded[name] then
      vim.health.info(name .. ' is loaded: it shows midtoken as a source; see :help midtoken-cmp')
    end
  end
end

function M.check()
  vim.health.start('midtoken')
  check_neovim()
  check_command()
  check_server()
  check_neighbours()
end

return M
